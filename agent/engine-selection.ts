// Which data plane runs on this machine, and why not the other.
import { Fault, startupInvalid } from '../kernel/base/errors.ts'
import type { Log } from '../kernel/base/log.ts'
import { loadNative } from '../native/index.ts'
import type { Engine, EngineOptions } from './engine.ts'
import { openPortableEngine } from './portable-engine/index.ts'

export type EngineName = 'native' | 'portable'

export interface EngineSelection {
  readonly engine: EngineName
  readonly reason: string // where the native one was found, or why it does not run
  readonly open: (options: EngineOptions) => Engine
}

/** `wanted` auto: the native one where it loads. */
export function selectEngine(wanted: EngineName | 'auto', load = loadNative): EngineSelection {
  const portable = { engine: 'portable', open: openPortableEngine } as const
  if (wanted === 'portable') return { ...portable, reason: 'the configuration says so' }
  const native = load()
  if (native.ok) return { engine: 'native', reason: native.from, open: native.openEngine }
  if (wanted === 'native') throw new Fault(startupInvalid, `engine is native, and ${native.reason}`)
  return { ...portable, reason: native.reason }
}

/** Said once at a start. */
export function logSelection({ engine, reason }: EngineSelection, log: Log): void {
  log.info('engine.selected', `the ${engine} engine forwards`, { engine, reason })
}
