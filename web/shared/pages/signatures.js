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
        t("Paste all headers of the request. A proxy can remove headers."),
      ];
    case "secret":
      return [t("This is not a secret."), t("A secret is whsec_, followed by base64.")];
    case "undecoded":
      return [
        t("The secret was not decoded."),
        t("Decode the part after whsec_ from base64, and use its bytes as the key."),
      ];
    case "stale":
      return [
        t("The signature is valid, but its time is {n} s off.", { n: detail }),
        t(
          "Receivers refuse signatures whose time is more than 300 s off, as protection against replays. Check the receiver's clock.",
        ),
      ];
    case "newline":
      return [
        t("The line ends of the body were changed, from byte {n} on.", { n: detail }),
        t("Use the bytes of the request as they came, without trimming."),
      ];
    case "reserialised":
      return [
        t("The body was parsed and written again. The first difference is at byte {n}.", { n: detail }),
        t("Check the signature over the raw bytes, before the body is parsed."),
      ];
    case "changed":
      return [
        t("The body is not the one that was sent. The first difference is at byte {n}.", { n: detail }),
        t("Something changed the body on the way. Use the bytes of the request as they came."),
      ];
    case "id":
      return [
        t("The header webhook-id differs from the body's id: {id}", { id: detail }),
        t("Use the header of the same request."),
      ];
    case "asymmetric":
      return [t("This is an Ed25519 signature."), t("Check it with the destination's public key, not with a secret.")];
    case "empty":
      return [t("The body is empty."), t("Paste the body that the receiver got: the signature covers it.")];
    case "other":
      return [
        t("The body is the one that was sent, but the signature does not match."),
        t("The secret is too old or another destination's, or the signature and its time are from another attempt."),
      ];
    default:
      return [
        t("The signature does not match."),
        t(
          "The secret is too old or another destination's, or the body was changed. Enter the delivery's id to compare the body with the one that was sent.",
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
    <p class="quiet">${t("For a receiver that refuses valid webhooks. The check runs in this page; the secret is sent nowhere.")}</p>
    <form class="two" onSubmit=${run}><section class="panel"><div class="form inside">
      ${h(Field, { label: t("Body, as it was received"), area: true, ...field("body") })}
      ${h(Field, { label: t("Headers, as they were received"), area: true, ...field("headers"), hint: draft.delivery && t("Paste the receiver's webhook-signature: it is not kept here."), placeholder: "webhook-id: …\nwebhook-timestamp: …\nwebhook-signature: v1,…" })}
      <div class="pair">${h(Field, { label: t("Signing secret"), kind: "password", ...field("secret"), placeholder: "whsec_…", hint: t("The secret that the receiver checks with. It was shown once, when it was created.") })}
        ${h(Field, { label: t("Id of the delivery, if you have it"), ...field("delivery"), hint: t("With the id, the page loads the body that was sent and compares it with yours.") })}</div>
      <div class="row"><button class="button primary" disabled=${!draft.headers || !draft.secret}>${t("Check")}</button></div></div></section>
    <section class="panel" aria-live="polite"><header><h2>${t("Verdict")}</h2></header><div class="inside stack">
      ${verdict ? html`<p class="verdict">${h(State, { name: good ? "HEALTHY" : verdict.kind === "stale" ? "DEGRADED" : "FAILING", word: what })}</p><p>${hint}</p>` : html`<p class="quiet">${t("The check names the first mistake: in the headers, the secret, the time, or a byte of the body.")}</p>`}</div></section></form>`;
}
