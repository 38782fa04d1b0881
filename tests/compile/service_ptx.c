/* Prints PTX of the library's own kernels, for ptxas: that of the module whose name is the argument. */
#include <stdio.h>
#include <string.h>

#include "backend/cuda_clock.h"
#include "backend/cuda_service.h"
#include "backend/cuda_survey.h"

int main(int argc, char **argv)
{
    static const struct {
        const char *name, *source;
    } modules[] = {
        {"service", kt_cuda_service_source}, {"clock", kt_cuda_clock_source}, {"survey", kt_cuda_survey_source}};
    for (size_t i = 0; argc == 2 && i < sizeof modules / sizeof *modules; i++)
        if (strcmp(modules[i].name, argv[1]) == 0)
            return fputs(modules[i].source, stdout) < 0;
    fputs("name a module\n", stderr);
    return 2;
}
