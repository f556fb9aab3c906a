// fedbn._core.privacy: what Python calls.
#include "border.hpp"
#include "privacy/dependence.hpp"

namespace fedbn::bindings {

using namespace nb::literals;

void privacy(nb::module_& m) {
    using Codes = Array<std::int32_t, 1>;
    m.def(
        "dependence_sum",
        [](const Codes& a, const Codes& b, const Array<std::int64_t, 1>& strata, std::int64_t r_a, std::int64_t r_b,
           std::int64_t count) {
            const std::size_t rows = a.shape(0);
            require(b.shape(0) == rows && strata.shape(0) == rows && rows < (1 << 28), "three columns of fewer than 2^28 rows");
            require(r_a > 0 && r_b > 0 && count > 0 && r_a < 65536 && r_b < 65536 && count < (1 << 28), "there are states and strata");
            for (std::size_t i = 0; i < rows; ++i)
                require(0 <= a.data()[i] && a.data()[i] < r_a && 0 <= b.data()[i] && b.data()[i] < r_b &&
                            0 <= strata.data()[i] && strata.data()[i] < count,
                        "codes are below their arities, strata below their number");
            return dependence_sum({span_of(a), span_of(b), span_of(strata), std::size_t(r_a), std::size_t(r_b), std::size_t(count)});
        },
        "a"_a.noconvert(), "b"_a.noconvert(), "strata"_a.noconvert(), "r_a"_a, "r_b"_a, "count"_a,
        "Σ_s floor(32 Σ_ab |n_s n_s,ab - n_s,a n_s,b| / n_s) over strata with rows.");
}

}  // namespace fedbn::bindings
