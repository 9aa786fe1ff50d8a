// What a plugin from outside finds under our name, wherever it lies: always the program that runs it, so that slots
// and services are the same objects on both sides.
import { registerHooks } from 'node:module'

const end = import.meta.url.endsWith('.ts') ? 'ts' : 'js'

/** Of package.json's `exports`. */
const surface: Readonly<Record<string, URL>> = {
  'sluice/plugin': new URL(`../../plugins/public.${end}`, import.meta.url),
  'sluice/agent-plugin': new URL(`../../agent/public.${end}`, import.meta.url),
  'sluice/kit': new URL(`../../kit/public.${end}`, import.meta.url)
}

let isOffered = false

export function offerSurface(): void {
  if (isOffered) return
  isOffered = true
  registerHooks({
    resolve: (specifier, context, next) => {
      const own = surface[specifier]
      return own ? { url: own.href, shortCircuit: true } : next(specifier, context)
    }
  })
}
