/* files.h - folders for what tests export. */
#ifndef KTRACE_TESTS_GPU_FILES_H
#define KTRACE_TESTS_GPU_FILES_H

#include "check.h"

#include <dirent.h>

namespace test
{

/* A folder that is gone, with what is in it, at the end of the scope. */
class folder
{
  public:
    folder()
    {
        const char *directory = std::getenv("TMPDIR");
        path = std::string(directory && *directory ? directory : P_tmpdir) + "/ktrace_test_XXXXXX";
        CHECK(mkdtemp(&path[0]) != nullptr, "mkdtemp %s", path.c_str());
    }
    ~folder()
    {
        for (const std::string &name : files())
            unlink((path + "/" + name).c_str());
        rmdir(path.c_str());
    }
    folder(const folder &) = delete;
    folder &operator=(const folder &) = delete;
    std::vector<std::string> files() const
    {
        std::vector<std::string> names;
        DIR *directory = opendir(path.c_str());
        while (const dirent *entry = directory ? readdir(directory) : nullptr)
            if (entry->d_name[0] != '.')
                names.push_back(entry->d_name);
        if (directory)
            closedir(directory);
        std::sort(names.begin(), names.end());
        return names;
    }

    std::string path;
};

inline bool is_gzip(const std::string &path)
{
    unsigned char head[2] = {};
    std::FILE *file = std::fopen(path.c_str(), "rb");
    const bool read = file && std::fread(head, 1, 2, file) == 2;
    if (file)
        std::fclose(file);
    return read && head[0] == 0x1F && head[1] == 0x8B;
}

} /* namespace test */

#endif
