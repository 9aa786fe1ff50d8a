import { createRequire } from 'node:module'
import { loadNative, type NativeStatus, openNativeEngine } from '../../native/index.ts'

/** Loads this machine's binary, or a sanitizer build: SLUICE_TEST_NATIVE=native/build/Asan/sluice.node */
export function nativeUnderTest(): NativeStatus {
  const from = process.env['SLUICE_TEST_NATIVE']
  if (from === undefined) return loadNative()
  const module = createRequire(`${process.cwd()}/`)(`./${from}`)
  return { ok: true, from, openEngine: options => openNativeEngine(module, options) }
}
