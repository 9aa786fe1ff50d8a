// Selects the engine that runs on this machine.
import { Fault, startupInvalid } from '../../kernel/base/errors.ts'
import type { Log } from '../../kernel/base/log.ts'
import { loadNative } from '../../native/index.ts'
import { openPortableEngine } from '../portable-engine/portable-engine.ts'
import type { Engine, EngineOptions } from './engine.ts'

export type EngineName = 'native' | 'portable'

export interface EngineSelection {
  readonly engine: EngineName
  readonly reason: string // where the native engine was found, or why it is not used
  readonly open: (options: EngineOptions) => Engine
}

/** 'auto' selects the native engine if it loads. Throws Fault if 'native' is wanted and does not load. */
export function selectEngine(wanted: EngineName | 'auto', load = loadNative): EngineSelection {
  const portable = { engine: 'portable', open: openPortableEngine } as const
  if (wanted === 'portable') return { ...portable, reason: 'selected in the configuration' }
  const native = load()
  if (native.ok) return { engine: 'native', reason: native.from, open: native.openEngine }
  if (wanted === 'native') throw new Fault(startupInvalid, `engine is native, but ${native.reason}`)
  return { ...portable, reason: native.reason }
}

export const logSelection = ({ engine, reason }: EngineSelection, log: Log): void =>
  log.info('engine.selected', `the ${engine} engine is used`, { engine, reason })
