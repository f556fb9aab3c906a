// The matrix of cross products of numbers, held as it is or as the rows that it comes from.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace fedbn {

class CrossProducts {
public:
    /// entries: n rows of n.
    CrossProducts(std::vector<double> entries, int n) : n_(n), values_(std::move(entries)) {}
    /// columns: n of `rows` numbers each, centred; the products are divided by `rows`. Memory is linear in the table.
    CrossProducts(std::vector<double> columns, int n, int rows) : n_(n), rows_(rows), values_(std::move(columns)) {
        for (int v = 0; v < n_; ++v) own_.push_back(product(v, v));
    }

    int n() const { return n_; }
    int rows() const { return rows_; }  // 0 for a matrix
    std::span<const double> values() const { return values_; }
    double operator()(int u, int v) const {
        if (!rows_) return values_[std::size_t(u) * n_ + v];
        return u == v ? own_[v] : product(u, v);
    }
    /// Of some of the variables, in the order given.
    CrossProducts over(std::span<const int> nodes) const {
        std::vector<double> part;
        for (int u : nodes)
            if (rows_)
                part.insert(part.end(), column(u), column(u) + rows_);
            else
                for (int v : nodes) part.push_back((*this)(u, v));
        const int n = int(nodes.size());
        return rows_ ? CrossProducts(std::move(part), n, rows_) : CrossProducts(std::move(part), n);
    }

private:
    const double* column(int v) const { return values_.data() + std::size_t(v) * rows_; }
    /// Four sums side by side, added at the end: the same bytes whichever of the two comes first.
    double product(int u, int v) const {
        const double *a = column(u), *b = column(v);
        double sums[4] = {};
        int i = 0;
        for (; i + 4 <= rows_; i += 4)
            for (int lane = 0; lane < 4; ++lane) sums[lane] += a[i + lane] * b[i + lane];
        for (; i < rows_; ++i) sums[0] += a[i] * b[i];
        return ((sums[0] + sums[1]) + (sums[2] + sums[3])) / rows_;
    }

    int n_, rows_ = 0;
    std::vector<double> values_, own_;
};

}  // namespace fedbn
