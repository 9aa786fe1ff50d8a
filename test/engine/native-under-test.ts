import { createRequire } from 'node:module'
import { loadNative, type NativeStatus, openNativeEngine } from '../../native/index.ts'

/** The binary of this machine; or another one, as built for a sanitizer: SLUICE_TEST_NATIVE=native/build/Asan/sluice.node */
export function nativeUnderTest(): NativeStatus {
  const from = process.env['SLUICE_TEST_NATIVE']
  if (from === undefined) return loadNative()
  const module = createRequire(`${process.cwd()}/`)(`./${from}`)
  return { ok: true, from, openEngine: options => openNativeEngine(module, options) }
}
