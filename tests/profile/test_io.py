"""Which functions do input or output, and which are not the program's own, as a profile tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.profile.build.library_io import does_io
from dse.profile.command import Options, build_program
from objectives.communication import from_profile
from tests.profile.examples import needs_compiler, profile_text, run_built, source


@pytest.mark.parametrize(
    "symbol",
    [
        *("fread", "fopen64", "__isoc23_fscanf", "fputs_unlocked", "__fprintf_chk", "getline"),
        *("_ZNSolsEi", "_ZNSirsERi", "_ZNSt3__113basic_istreamIcNS_11char_traitsIcEEErsERi"),
        "_ZNSt14basic_ofstreamIcSt11char_traitsIcEEC1EPKcSt13_Ios_Openmode",
    ],
)
def test_functions_of_files_and_streams_do_io(symbol: str) -> None:
    assert does_io(symbol)


@pytest.mark.parametrize(
    "symbol",
    ["memcpy", "malloc", "snprintf", "sscanf", "qsort", "getenv", "strlen", "_ZNSs6appendEPKc"],
)
def test_functions_of_memory_do_none(symbol: str) -> None:
    assert not does_io(symbol)


@needs_compiler
def test_a_profile_tells_what_does_io(tmp_path: Path) -> None:
    text = """
    #include <stdio.h>
    #include <string.h>
    #include <sys/mman.h>
    static volatile int three = 3;
    static int read(void) { return three; }  /* the program's own, whatever its name */
    int main(void) {
        char line[40];
        memset(line, 0, sizeof line);
        char *own = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        own[0] = 1;
        snprintf(line, sizeof line, "%d", read());
        return puts(line) < 0;
    }"""
    found = {f.name: f.io for f in profile_text(tmp_path, text).functions}
    assert found == {
        **dict.fromkeys(("main", "read", "memset", "snprintf", "mmap"), False),
        "puts": True,
    }


@needs_compiler
def test_mapping_a_file_is_input(tmp_path: Path) -> None:
    text = """
    #include <fcntl.h>
    #include <sys/mman.h>
    int main(void) {
        int file = open("/proc/self/exe", O_RDONLY);
        char *p = mmap(0, 64, PROT_READ, MAP_PRIVATE, file, 0);
        return p[1] != 'E';
    }"""
    assert {f.name: f.io for f in profile_text(tmp_path, text).functions}["mmap"]


@needs_compiler
def test_what_headers_of_the_system_define_is_distinguished(tmp_path: Path) -> None:
    text = """
    #include <algorithm>
    #include <vector>
    static bool below(int a, int b) { return a < b; }
    int main() {
        std::vector<int> all = {3, 1, 2};
        std::sort(all.begin(), all.end(), below);
        return all[0] != 1;
    }"""
    built = build_program(Options((source(tmp_path, text, "program.cpp"),)), tmp_path)
    profile, _ = run_built(built, (), b"")
    system = {f.name: f.system for f in profile.functions if not f.foreign}
    assert not system["main"] and not system["below(int, int)"]
    assert all(told for name, told in system.items() if "std::" in name.split("(")[0])
    assert any(system.values())


@needs_compiler
def test_a_program_of_streams_is_profiled_with_its_output(tmp_path: Path) -> None:
    text = r"""
    #include <fstream>
    #include <iostream>
    #include <sstream>
    #include <string>
    static std::string upper(const std::string &s) {
        std::string r;
        for (char c : s) r += c >= 'a' && c <= 'z' ? char(c - 32) : c;
        return r;
    }
    static long letters() {
        std::string line;
        long n = 0;
        while (std::getline(std::cin, line)) { n += line.size(); std::cout << upper(line) << '\n'; }
        return n;
    }
    int main() {
        std::ostringstream out;
        std::ofstream file("/dev/null");
        out << letters();
        file << out.str() << 1.5;
        std::cout << out.str() << std::endl;
        return !file;
    }"""
    path = source(tmp_path, text, "program.cpp")
    profile, output = run_built(build_program(Options((path,)), tmp_path), (), b"one\ntwo words\n")
    assert profile.run.complete
    assert output == b"ONE\nTWO WORDS\n12\n"
    calls = {f.name: f.invocations for f in profile.functions}
    assert calls["upper(std::string const&)"] == 2
    moved = from_profile(profile)
    assert "upper(std::string const&)" in moved.candidates
    assert moved.staying["letters()"].startswith("does I/O: std::")
