// Scores of linear-Gaussian networks: J by log-determinants of a matrix of cross products.
//
// Where members of a set nearly determine another one, rounding and the floor make ln det depend on
// their order: an operator and its opposite could both gain, and a search would never end. So J of
// such a set is that of its members in ascending order.
#pragma once

#include "scores/cross_products.hpp"
#include "scores/score.hpp"

namespace fedbn {

constexpr double kRelativeFloor = 1e-12;  // of a variance: what is left of a column that others determine
constexpr double kAbsoluteFloor = 1e-300;
constexpr double kNearlyDetermined = 1e-7;  // of a variance: from here down the order of members counts

/// The Cholesky factor of gram over some members, which grows by a row for each of them.
class Factor {
public:
    explicit Factor(int n);

    /// Make the factor that of gram[members, members]; returns ln det. A row depends on its member
    /// and those before it alone, so the rows that both factors begin with are kept.
    double factorise(const CrossProducts& gram, std::span<const int> members);
    /// ln det over the first k members.
    double log_det(std::size_t k) const { return log_det_[k]; }
    /// Whether one of the first k members is nearly determined by those before it.
    bool determined(std::size_t k) const { return determined_[k]; }
    double entry(std::size_t a, std::size_t b) const { return rows_[start_of(a) + b]; }
    double inverse(std::size_t a) const { return inverse_[a]; }  // 1 / the diagonal

private:
    static std::size_t start_of(std::size_t a) { return a * (a + 1) / 2; }
    void add_row(const CrossProducts& gram, int member);

    std::vector<double> rows_;  // of the triangle, one after the other
    std::vector<double> inverse_, log_det_;
    std::vector<char> determined_;
    std::vector<int> members_;
};

class GaussianScore : public Score {
public:
    /// constant, exponent: by size of the set, 0 to n.
    GaussianScore(CrossProducts gram, std::vector<double> constant, std::vector<double> exponent);

    void use_threads(int threads) override;
    int threads() const override { return static_cast<int>(columns_.size()); }
    ScoreKind kind() const override { return ScoreKind::gaussian; }
    int n() const override { return static_cast<int>(constant_.size()) - 1; }
    double joint(std::span<const int> members) override;
    double local(int y, std::span<const int> parents) override;
    void local_with(int y, std::span<const int> parents, std::span<const int> xs,
                    std::span<double> scores) override;
    std::int64_t counted() const override {
        const std::lock_guard turn(threads_.turn);
        return counted_;
    }
    int emptied() const override { return 0; }

    GaussianScore over(std::span<const int> nodes) const;
    const CrossProducts& gram() const { return gram_; }
    const std::vector<double>& constant() const { return constant_; }
    const std::vector<double>& exponent() const { return exponent_; }

private:
    static constexpr int kTogether = 8;  // further members that are solved for side by side

    /// What the threads of one score share, of which a copy begins without any.
    struct Threads {
        Threads() = default;
        Threads(const Threads&) {}
        mutable std::mutex turn;
        std::unique_ptr<Workers> workers;  // none for one thread
    };

    double joint_of(std::size_t size, double log_det) const { return constant_[size] - exponent_[size] * log_det; }
    bool score_some(std::span<const int> xs, std::span<double> scores, std::vector<double>& columns) const;
    double log_det_in_order(std::span<int> members);
    double pair_in_order(int y, std::span<const int> parents, int x);
    void solve_columns(std::span<const int> xs, std::span<double> columns) const;

    CrossProducts gram_;
    std::vector<double> constant_, exponent_;
    Factor factor_;
    std::vector<std::vector<double>> columns_;  // of each worker, [members, kTogether]: L⁻¹ gram[members, x]
    std::vector<int> members_, ordered_;
    std::int64_t counted_ = 0;
    Threads threads_;
};

}  // namespace fedbn
