/** The authentication of a destination's requests, besides the signature. Secrets are masked as `***`; a secret whose mask is sent back stays. */
import { h, html, useState } from "../../../vendor/preact.js";
import { t } from "../../i18n.js";
import { Failure } from "../../ui/failure.js";
import { Field } from "../../ui/field.js";
import { say } from "../../ui/toasts.js";
import { api, may } from "../../api.js";

/** @typedef {{name: string, label: string, secret?: boolean, area?: boolean, optional?: boolean}} Part */

/** The kinds of authentication, with their fields. @returns {[string, string, Part[]][]} */
const kinds = () => [
  ["", t("None"), []],
  [
    "BASIC",
    t("User and password"),
    [
      { name: "username", label: t("User") },
      { name: "password", label: t("Password"), secret: true },
    ],
  ],
  ["BEARER", t("Fixed token"), [{ name: "token", label: t("Token"), secret: true }]],
  [
    "OAUTH2_CLIENT_CREDENTIALS",
    t("OAuth 2.0 token"),
    [
      { name: "tokenUrl", label: t("Token URL") },
      { name: "clientId", label: t("Client ID") },
      { name: "clientSecret", label: t("Client secret"), secret: true },
      { name: "scope", label: t("Scope"), optional: true },
      { name: "audience", label: t("Audience"), optional: true },
    ],
  ],
  [
    "MTLS",
    t("Client certificate"),
    [
      { name: "certificate", label: t("Certificate, PEM"), area: true },
      { name: "privateKey", label: t("Private key, PEM"), area: true },
    ],
  ],
];

/** @param {{destination: any, changed: (destination: any) => void}} props */
export function Authentication({ destination, changed }) {
  const set = destination.authentication;
  const [kind, setKind] = useState(set?.kind ?? "");
  const [draft, setDraft] = useState(
    /** @type {Record<string, string>} */ (
      Object.fromEntries(Object.entries(set ?? {}).filter(([, value]) => typeof value === "string"))
    ),
  );
  const [error, setError] = useState(/** @type {any} */ (null));
  const [busy, setBusy] = useState(false);
  const parts = kinds().find(([name]) => name === kind)?.[2] ?? [];
  const missing = parts.some(({ name, optional }) => !optional && !draft[name]);
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    const given = Object.fromEntries(parts.map(({ name }) => [name, draft[name] || null]));
    try {
      changed(await api.patch(`/destinations/${destination.id}`, { authentication: kind ? { kind, ...given } : null }));
      say(t("Saved. It applies from the next attempt on."));
    } catch (problem) {
      if (/** @type {any} */ (problem).status === undefined) throw problem;
      setError(problem);
    }
    setBusy(false);
  };
  return html`<section class="panel"><header><h2>${t("Authentication")}</h2></header>
    <form class="form inside" onSubmit=${save}><fieldset class="form" disabled=${!may("editHeaders") || destination.status === "ARCHIVED"}>
      ${h(Field, {
        label: t("In addition to the signature"),
        value: kind,
        change: (value) => {
          setKind(value);
          setDraft({});
        },
        options: /** @type {[string, string][]} */ (kinds().map(([name, label]) => [name, label])),
      })}
      ${parts.map(({ name, label, secret, area }) => h(Field, { key: name, label, area, kind: secret ? "password" : "text", spellcheck: false, value: draft[name] ?? "", change: (value) => setDraft({ ...draft, [name]: value }) }))}
      ${error && h(Failure, { error })}
      ${may("editHeaders") && html`<div class="row"><button class="button" disabled=${busy || missing || (!kind && !set)}>${t("Save the authentication")}</button></div>`}
    </fieldset></form></section>`;
}
