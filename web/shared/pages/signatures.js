/** The signature checker: it names the mistake in a pasted request of a receiver. The secret stays in the page. */
import { h, html, useEffect, useState } from "../../vendor/preact.js";
import { t } from "../i18n.js";
import { query } from "../router.js";
import { check, parseHeaders } from "../signature.js";
import { Field } from "../ui/field.js";
import { State } from "../ui/state.js";
import { Head } from "../head.js";
import { api } from "../api.js";

/** @param {import("../signature.js").Verdict} verdict @returns {[string, string]} the finding, and the next step */
function told({ kind, detail }) {
  switch (kind) {
    case "valid":
      return [t("The signature is valid."), t("Body, headers and secret belong together.")];
    case "headers":
      return [
        t("Headers are missing: {names}", { names: detail }),
        t("A proxy may drop them. Paste all of the request's headers."),
      ];
    case "secret":
      return [t("This is no secret."), t("It begins with whsec_ and goes on in base64.")];
    case "undecoded":
      return [
        t("The secret was not decoded."),
        t("Decode what follows whsec_ from base64, and use the bytes as the key."),
      ];
    case "stale":
      return [
        t("The signature is valid, but its time is {n} s away.", { n: detail }),
        t(
          "Receivers refuse signatures whose time is more than 300 s away, as protection against replays. Check the clock.",
        ),
      ];
    case "newline":
      return [
        t("The body has other line ends, from byte {n} on.", { n: detail }),
        t("Use the bytes of the request as they came, without trimming."),
      ];
    case "reserialised":
      return [
        t("The body was parsed and written again: byte {n} differs first.", { n: detail }),
        t("Check the signature before the body is parsed, over its raw bytes."),
      ];
    case "changed":
      return [
        t("The body is not the one that was sent: byte {n} differs first.", { n: detail }),
        t("Something on the way changed it. Use the bytes of the request as they came."),
      ];
    case "id":
      return [
        t("The header webhook-id differs from the body's id: {id}", { id: detail }),
        t("Use the header of the same request."),
      ];
    case "asymmetric":
      return [
        t("This is an Ed25519 signature."),
        t("Check it with the public key of the destination; a secret is of no use."),
      ];
    case "empty":
      return [t("The body is empty."), t("Paste the body that the receiver got: the signature covers it.")];
    case "other":
      return [
        t("The body is the one that was sent, but the signature does not match."),
        t(
          "The secret is not that of this destination, or too old. Or the signature and its time are of another attempt.",
        ),
      ];
    default:
      return [
        t("The signature does not match."),
        t(
          "The secret belongs to another destination or is too old, or the body was changed. Give the delivery's id: then the checker compares the body with the one that was sent.",
        ),
      ];
  }
}

export function Page() {
  const [draft, setDraft] = useState({ body: "", headers: "", secret: "", delivery: query().delivery ?? "" });
  const [verdict, setVerdict] = useState(/** @type {any} */ (null));
  const field = (/** @type {keyof typeof draft} */ name) => ({
    value: draft[name],
    change: (/** @type {string} */ value) => {
      setDraft({ ...draft, [name]: value });
      setVerdict(null);
    },
  });
  // If the reader comes from a delivery, fill in its request without the signature, which is not stored.
  useEffect(() => {
    if (draft.delivery)
      api.get(`/deliveries/${encodeURIComponent(draft.delivery)}`).then(
        ({ request }) => {
          if (!request) return;
          const headers = Object.entries(request.headers ?? {})
            .filter(([name]) => /^webhook-/i.test(name))
            .map(([name, value]) => `${name}: ${value}`);
          setDraft((old) => ({
            ...old,
            body: old.body || (request.body ?? ""),
            headers: old.headers || [...headers, "webhook-signature: "].join("\n"),
          }));
        },
        () => undefined, // the reader pastes what is missing
      );
  }, []);
  const run = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const delivery = draft.delivery.trim()
      ? await api.get(`/deliveries/${encodeURIComponent(draft.delivery.trim())}`).catch(() => null)
      : null;
    setVerdict(
      await check({
        body: draft.body,
        headers: parseHeaders(draft.headers),
        secret: draft.secret,
        now: Date.now(),
        sent: delivery?.request?.body,
      }),
    );
  };
  const [what, hint] = verdict ? told(verdict) : ["", ""];
  const good = verdict?.kind === "valid";
  return html`${h(Head, { title: t("Signature checker") })}
    <p class="quiet">${t("For a receiver that refuses good webhooks. Everything is computed in this page; the secret is sent nowhere.")}</p>
    <form class="two" onSubmit=${run}><section class="panel"><div class="form inside">
      ${h(Field, { label: t("Body, as it was received"), area: true, ...field("body") })}
      ${h(Field, { label: t("Headers, as they were received"), area: true, ...field("headers"), hint: draft.delivery && t("Paste the receiver's webhook-signature: it is not kept here."), placeholder: "webhook-id: …\nwebhook-timestamp: …\nwebhook-signature: v1,…" })}
      <div class="pair">${h(Field, { label: t("Signing secret"), kind: "password", ...field("secret"), placeholder: "whsec_…", hint: t("The secret with which the receiver checks. It was shown once, when it was made.") })}
        ${h(Field, { label: t("Id of the delivery, if you have it"), ...field("delivery"), hint: t("With an id, the page makes one request: for the body that was sent.") })}</div>
      <div class="row"><button class="button primary" disabled=${!draft.headers || !draft.secret}>${t("Check")}</button></div></div></section>
    <section class="panel" aria-live="polite"><header><h2>${t("Verdict")}</h2></header><div class="inside stack">
      ${verdict ? html`<p class="verdict">${h(State, { name: good ? "HEALTHY" : verdict.kind === "stale" ? "DEGRADED" : "FAILING", word: what })}</p><p>${hint}</p>` : html`<p class="quiet">${t("It names the first thing that is wrong: the headers, the secret, the time, or the byte of the body.")}</p>`}</div></section></form>`;
}
