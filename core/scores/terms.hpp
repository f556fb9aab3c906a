// What the cells of a contingency table add to J, and their sums.
//
// A term is a whole number of units of 2^-e nats, with e so large that the sum over all rows just
// fits into 63 bits. Sums of whole numbers are exact: J does not depend on the order in which its
// cells are met.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fedbn {

enum class ScoreKind { bdeu, information, gaussian, mixed };

/// One of the row weights (k > 0, by which every count is multiplied) for which J is known.
struct Rung {
    double row_weight;
    double parameter;  // BDeu: ess; else the penalty per free parameter
    double units = 0;  // of a nat, a power of two
};

class Terms {
public:
    Terms(ScoreKind kind, int rows, std::span<const int> arities, std::vector<Rung> rungs);

    std::size_t rungs() const { return rungs_.size(); }

    /// J of a set with ln Π r = log_size, from its counts, for every rung.
    void joint(std::span<const std::int32_t> counts, double log_size, std::span<double> values);

private:
    struct Slot {  // the terms of sets of one size
        double log_size = -1, alpha = 0, offset = 0;
        std::vector<double> base;         // [rung]: ln Γ(α)
        std::vector<std::int64_t> known;  // [count, rung]; grows with the counts
    };

    Slot& slot_of(double log_size);
    void make_room(Slot& slot, int largest);
    void begin_bdeu(Slot& slot, std::size_t rung);
    void fill(Slot& slot, int count, std::size_t place);
    template <std::size_t Rungs>
    void add(Slot& slot, std::span<const std::int32_t> counts, std::span<std::int64_t> sums);

    ScoreKind kind_;
    std::vector<Rung> rungs_;
    std::size_t places_;  // for the terms of small counts; one more is for those that are not kept
    std::size_t probe_;   // the rung that shows whether the terms of a count are known
    std::vector<Slot> slots_;
    std::vector<std::int64_t> sums_;  // of several rungs
};

}  // namespace fedbn
