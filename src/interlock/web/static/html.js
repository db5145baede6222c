// The one place where the vendored modules come in: everything else imports from here.

import { Fragment, h, render } from "./vendor/preact.mjs";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./vendor/hooks.mjs";
import { batch, computed, effect, signal, useComputed, useSignal, useSignalEffect } from "./vendor/signals.mjs";
import htm from "./vendor/htm.mjs";

/** Markup as a template. What is put into it becomes text or attributes, never markup. */
export const html = htm.bind(h);
export { Fragment, h, render };
export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState };
export { batch, computed, effect, signal, useComputed, useSignal, useSignalEffect };
