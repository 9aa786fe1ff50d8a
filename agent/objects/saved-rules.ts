import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { openCodec } from '../../kernel/wire/codec.ts'
import { RulePush, ruleKind } from '../../plugins/rules/wire.ts'
import { openStateDatabase } from '../state/state-database.ts'
import { openObjectStore } from './object-store.ts'

export type SavedRule = Pick<RulePush, 'rule_id' | 'listen_from' | 'listen_to' | 'targets'>

/** Reads the rules in a state directory, also beside a running agent; none where there is no state yet. */
export function savedRules(dir: string): readonly SavedRule[] {
  if (!existsSync(join(dir, 'state.db'))) return []
  const db = openStateDatabase(dir)
  try {
    const codec = openCodec([RulePush])
    const rules = openObjectStore(db)
      .all()
      .filter(({ kind }) => kind === ruleKind)
    return rules.map(({ bytes }) => codec.decode(RulePush, bytes))
  } finally {
    db.close()
  }
}
