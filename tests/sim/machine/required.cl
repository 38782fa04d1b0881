// C has no attribute for a required size of workgroups.
__attribute__((reqd_work_group_size(64, 2, 1))) kernel void exactly_64_2_1(global int *out)
{
    *out = 1;
}
