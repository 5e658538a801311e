/** The types of preact.js, by the packages that it is made of. Only the type checker reads this file. */
import type { VNode } from "preact";

export * from "preact";
export * from "preact/hooks";
export * from "@preact/signals";
export const html: (strings: TemplateStringsArray, ...values: unknown[]) => VNode<any>;
