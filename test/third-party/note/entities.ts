import { defineEntity, p } from '@mikro-orm/core'
import { ruleKey } from '../../../plugins/rules/exports.ts'

export const NoteIdle = defineEntity({
  name: 'NoteIdle',
  tableName: 'note_idle',
  properties: { rule: ruleKey, secs: p.integer() }
})
