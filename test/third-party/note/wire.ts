import { Type } from 'typebox'
import { type Capability, defineMessage } from '../../../kernel/wire/message.ts'

export const key = 'note_idle_secs'
export const capability: Capability = { id: 'rule.note_idle', since: '1.0.0' }

export const Idle = defineMessage({
  name: 'sluice.note.Idle',
  proto: new URL('./note.proto', import.meta.url),
  body: Type.Object({ secs: Type.Integer({ minimum: 1, maximum: 86_400 }) })
})
