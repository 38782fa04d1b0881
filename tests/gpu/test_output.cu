/* What a capture puts out by itself: summary, launches and files of one snapshot, before its end and after it, and a file for each
 * launch of a graph. */
#include "files.h"
#include "graphs.h"

using test::folder;
using test::graph;

namespace
{

/* All that a capture says at one time. The files go to its folder. */
struct answers {
    std::string summary, summary_json, launches, path;
    std::vector<std::string> paths;
    bool empty = false; /* all of it */

    explicit answers(const test::capture &capture, const std::vector<const char *> &names = {})
    {
        char *text[4] = {}, **files = nullptr;
        uint64_t count = 0;
        KTRACE_OK_OR_RETURN(ktrace_capture_summary_text(&text[0], capture.handle()));
        KTRACE_OK_OR_RETURN(ktrace_capture_summary_json(&text[1], capture.handle()));
        KTRACE_OK_OR_RETURN(ktrace_capture_launches_json(&text[2], capture.handle()));
        KTRACE_OK_OR_RETURN(ktrace_capture_export(&text[3], capture.handle()));
        KTRACE_OK_OR_RETURN(ktrace_capture_export_launches(&files, &count, capture.handle(),
                                                           names.empty() ? nullptr : names.data(), names.size()));
        empty = !text[0] && !text[1] && !text[2] && !text[3] && !files && count == 0;
        std::string *const to[] = {&summary, &summary_json, &launches, &path};
        for (int i = 0; i < 4; i++) {
            *to[i] = text[i] ? text[i] : "";
            std::free(text[i]);
        }
        for (uint64_t i = 0; i < count; i++)
            paths.push_back(files[i]);
        ktrace_paths_free(files, count);
    }
    /* Launches in the list: each has an id. */
    size_t listed() const
    {
        size_t count = 0;
        for (size_t at = 0; (at = launches.find("\"launch_id\":", at)) != std::string::npos; at++)
            count++;
        return count;
    }
};

void check_same(const answers &a, const answers &b)
{
    CHECK(a.summary == b.summary, "summaries differ:\n%s\n%s", a.summary.c_str(), b.summary.c_str());
    CHECK(a.summary_json == b.summary_json, "summaries as JSON differ");
    CHECK(a.launches == b.launches, "launches differ:\n%s\n%s", a.launches.c_str(), b.launches.c_str());
    CHECK_EQUAL(a.paths.size(), b.paths.size());
}

void check_file(const std::string &path, const folder &folder, const std::string &name, const char *number = "")
{
    CHECK(path == folder.path + "/" + name + "_ktrace" + number + ".pftrace.gz" && test::is_gzip(path), "%s",
          path.c_str());
}

ktrace_capture_options into(const folder &folder)
{
    ktrace_capture_options options = test::sizes(16, 4);
    options.name = "model";
    options.directory = folder.path.c_str();
    return options;
}

} /* namespace */

/* All of it is of one snapshot, which asking does not use up, and which stays when the capture was stopped. */
TEST_CASE(one_snapshot)
{
    const folder folder;
    test::device_array<int> replay(1);
    test::capture capture;
    REQUIRE(capture.begin(into(folder)) == 0);
    test::launch_a(nullptr, replay.get());
    test::launch_b(nullptr, replay.get());
    const answers first(capture);
    CHECK_EQUAL(first.listed(), 2);
    REQUIRE(first.paths.size() == 2, "%zu files", first.paths.size());
    check_file(first.path, folder, "model");
    check_file(first.paths[0], folder, "node_a_launch_0");
    check_file(first.paths[1], folder, "node_b_launch_1");
    const answers again(capture); /* nothing is overwritten: these files have numbers */
    check_same(first, again);
    CHECK_EQUAL(folder.files().size(), 6);

    test::launch_a(nullptr, replay.get()); /* behind what there was */
    const answers more(capture);
    CHECK_EQUAL(more.listed(), 3);
    CHECK(more.summary != first.summary, "a launch more, and the summary is the same");
    KTRACE_OK_OR_RETURN(ktrace_capture_stop(capture.handle()));
    test::launch_a(nullptr, replay.get()); /* dormant */
    check_same(more, answers(capture));
    test::trace trace;
    REQUIRE(capture.end(trace) == 0);
    test::check_launches(trace, {test::wanted_a(), test::wanted_b(), test::wanted_a()});
}

/* Three layers are three nodes of one kernel: each has a file of its own under the name that it is given. */
TEST_CASE(layers_of_a_graph)
{
    const folder folder;
    const std::vector<const char *> names = {"layer_0", "layer_1", "layer_2"};
    test::device_array<int> replay(1);
    const graph graph([&](cudaStream_t stream) {
        for (int i = 0; i < 3; i++)
            layer<<<2, 64, 0, stream>>>(i, replay.get());
    });
    ktrace_capture_options options = into(folder);
    options.stay_armed = 1;
    test::capture capture;
    REQUIRE(capture.begin(options) == 0);
    graph.replay();
    KTRACE_OK_OR_RETURN(ktrace_capture_stop(capture.handle()));
    for (int round = 0; round < 2; round++) {
        const answers all(capture, names);
        CHECK_EQUAL(all.listed(), 3);
        REQUIRE(all.paths.size() == 3, "%zu files", all.paths.size());
        for (size_t i = 0; i < 3; i++)
            check_file(all.paths[i], folder, names[i], round ? "_1" : "");
        char **paths = nullptr;
        uint64_t count = 9;
        CHECK_EQUAL(ktrace_capture_export_launches(&paths, &count, capture.handle(), names.data(), 2),
                    KTRACE_ERROR_ARGUMENT);
        CHECK(std::strstr(ktrace_last_error(), "2 names were given, but 3 launches have events"), "%s",
              ktrace_last_error());
        CHECK(!paths && count == 9, "an out-parameter was written");
        graph.replay(); /* after the end: a read puts it in the place of what was shown */
        test::trace trace;
        REQUIRE(capture.read(trace) == 0);
        CHECK_EQUAL(trace.launches.size(), 3);
    }
}

/* Without events every answer is "empty", and no file is written. */
TEST_CASE(nothing)
{
    const folder folder;
    test::capture capture;
    REQUIRE(capture.begin(into(folder)) == 0);
    CHECK(answers(capture).empty, "an answer to nothing");
    KTRACE_OK_OR_RETURN(ktrace_capture_stop(capture.handle()));
    CHECK(answers(capture).empty, "an answer to nothing");
    CHECK_EQUAL(folder.files().size(), 0);
}

int main(int argc, char **argv)
{
    return test::run(argc, argv);
}
