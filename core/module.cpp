// fedbn._core: a submodule for each room.
#include "border.hpp"

NB_MODULE(_core, m) {
    m.doc() = "Compiled algorithms of fedbn.";
#ifdef NDEBUG
    nb::set_leak_warnings(false);  // a thread that still runs when Python ends keeps its arguments: no fault of the user
#endif
    nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
        try {
            std::rethrow_exception(thrown);
        } catch (const fedbn::ArgumentError& error) {
            PyErr_SetString(nb::module_::import_("fedbn.errors").attr("ArgumentError").ptr(), error.what());
        }
    });
    using Room = void (*)(nb::module_&);
    const std::pair<const char*, Room> rooms[] = {
        {"graphs", fedbn::bindings::graphs},       {"scores", fedbn::bindings::scores},
        {"search", fedbn::bindings::search},       {"fusion", fedbn::bindings::fusion},
        {"consensus", fedbn::bindings::consensus}, {"families", fedbn::bindings::families},
        {"cg_dca", fedbn::bindings::cg_dca},       {"credible", fedbn::bindings::credible},
        {"secure", fedbn::bindings::secure},       {"privacy", fedbn::bindings::privacy},
    };
    for (const auto& [name, bind] : rooms) {
        nb::module_ room = m.def_submodule(name);
        bind(room);
    }
}
