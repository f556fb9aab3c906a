// Looking around from a class where the scores of some families are known and those of others are
// not: where the known ones lead, and which others would have been wanted on the way.
//
// A server that may ask for sums of counts a few times only has such scores. XGES-0 goes as far as
// what is known leads: of an operator with an unknown score nothing is known, so it is not taken, and
// its families are wanted. With `kicks`, every edge of the class reached is taken away by itself and
// the search goes on without that pair, then with it, as in XGES (Nazaret & Blei 2024): from a better
// class it begins anew.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graphs/knowledge.hpp"
#include "random.hpp"
#include "scores/score.hpp"

namespace fedbn {

struct Family {
    int node;
    std::vector<int> parents;  // ascending
};

/// Scores of some families; NaN for the others, which are noted as wanted.
class KnownFamilies : public Score {
public:
    explicit KnownFamilies(int n);

    void learn(int y, std::span<const int> parents, double score);
    const std::vector<Family>& wanted() const { return wanted_; }

    ScoreKind kind() const override { return ScoreKind::bdeu; }
    int n() const override { return static_cast<int>(nodes_.size()); }
    /// A family is known, a set is not.
    double joint(std::span<const int>) override;
    double local(int y, std::span<const int> parents) override;
    void local_with(int y, std::span<const int> parents, std::span<const int> xs,
                    std::span<double> scores) override;
    std::int64_t counted() const override { return 0; }
    int emptied() const override { return 0; }

private:
    struct Hash {
        std::size_t operator()(const Key& key) const { return key.low ^ (key.high << 1); }
    };
    Key key_of(int y, std::span<const int> parents) const;
    double look_up(Key key, int y, std::span<const int> parents, int more = -1);

    std::vector<Key> nodes_, members_;
    std::unordered_map<Key, double, Hash> known_;
    std::unordered_set<Key, Hash> asked_;
    std::vector<Family> wanted_;
};

/// Where known scores lead from `start`, whose families are all known; `start` where nowhere better. Every
/// other family whose score would have been looked at is wanted. No more than `patience` rows of operators are looked at between two kicks.
Dag look_around(KnownFamilies& families, Dag start, const Knowledge& known, bool kicks, std::int64_t patience);

}  // namespace fedbn
