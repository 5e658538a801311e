/** The names of the environment's API keys, loaded once. */
import { signal, useEffect } from "../../vendor/preact.js";
import { whose } from "../../shared/api.js";
import { api } from "../session.js";

/** @type {import("../../vendor/preact.js").Signal<Record<string, string>>} */
const names = signal({});
let of = ""; // the environment whose names are loaded or being loaded

/** Return the names by id; revoked keys have none. They are loaded when they are first asked for. */
export function useKeyNames() {
  const reader = whose();
  useEffect(() => {
    if (of === reader) return;
    of = reader;
    names.value = {};
    api.get("/api-keys").then(
      ({ items }) => {
        if (of === reader)
          names.value = Object.fromEntries(items.map((/** @type {any} */ each) => [each.id, each.name]));
      },
      () => {
        of = "";
      },
    );
  }, [reader]);
  return names.value;
}
