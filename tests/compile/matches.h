/* matches.h - whether a prototype that the library spells is the vendor's: as many parameters, and which are pointers, integers of
 * which size; the same of what it returns. */
#ifndef MATCHES_H
#define MATCHES_H

#include <type_traits>

template <class Ours, class Theirs>
constexpr bool is_like = sizeof(Ours) == sizeof(Theirs) && std::is_pointer<Ours>::value
                                                               == std::is_pointer<Theirs>::value;

template <class Ours, class Theirs>
struct matches : std::false_type {
};
template <class OurResult, class... Ours, class TheirResult, class... Theirs>
struct matches<OurResult (*)(Ours...), TheirResult (*)(Theirs...)> {
    template <bool Same, class Dummy = void>
    struct each : std::false_type {
    };
    template <class Dummy>
    struct each<true, Dummy> {
        static constexpr bool value = is_like<OurResult, TheirResult> && (is_like<Ours, Theirs> && ...);
    };
    static constexpr bool value = each<sizeof...(Ours) == sizeof...(Theirs)>::value;
};

#endif
