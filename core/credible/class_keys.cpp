#include "credible/class_keys.hpp"

#include <utility>

#include "random.hpp"

namespace fedbn {

namespace {

std::uint64_t mixed(std::uint64_t code) { return SplitMix64{code * 0x9E3779B97F4A7C15}.next(); }

ClassKey key_of(std::uint64_t code) { return {mixed(2 * code), mixed(2 * code + 1)}; }

}  // namespace

ClassKeys::ClassKeys(std::span<const std::int64_t> nodes, std::span<const std::int64_t> node,
                     const NodeSets& parents, bool shielded)
    : nodes_(nodes), parents_(parents), families_(node.size()), around_(int(nodes.size()),
        64 * parents.words()) {
    const std::uint64_t n = 64 * parents.words();
    std::vector<int> place(n, -1), of;
    for (std::size_t a = 0; a < nodes.size(); ++a) place[nodes[a]] = int(a);
    for (std::size_t f = 0; f < node.size(); ++f) {
        Family& family = families_[f];
        const std::uint64_t c = node[f];
        list(parents[int(f)], of);
        for (std::size_t q = 0; q < of.size(); ++q) {
            const std::uint64_t p = of[q];
            const bool turned = place[p] >= 0 && c < p;
            family.always += key_of(((turned ? c : p) * n + (turned ? p : c)) * n + n - 1);
            if (place[p] >= 0) family.inside.push_back(place[p]);
            for (std::size_t r = 0; r < q; ++r) {
                const std::uint64_t o = of[r];
                if (place[p] < 0 && place[o] < 0) continue;
                const ClassKey code = key_of((o * n + p) * n + c + n * n * n);
                if (shielded)
                    family.always += code;
                else if (place[p] >= 0)
                    family.colliders.push_back({place[p], int(o), code});
                else
                    family.colliders.push_back({place[o], int(p), code});
            }
        }
    }
}

ClassKey ClassKeys::of(std::span<const std::int32_t> families) {
    for (std::size_t a = 0; a < families.size(); ++a) around_[int(a)] = parents_[families[a]];
    for (std::size_t a = 0; a < families.size(); ++a)
        for (int parent : families_[families[a]].inside) around_[parent].insert(int(nodes_[a]));
    ClassKey key;
    for (int f : families) {
        key += families_[f].always;
        for (const auto& [inside, other, code] : families_[f].colliders)
            if (!std::as_const(around_)[inside].has(other)) key += code;
    }
    return key;
}

}  // namespace fedbn
