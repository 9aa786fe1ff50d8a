// A plugin that tests load by path: a route, a table, and a rule field with its agent half.
import { Type } from 'typebox'
import { definePlugin, type Kernel } from '../../../kernel/plugin.ts'
import { defineList } from '../../../plugins/http/exports.ts'
import { NoteIdle } from './entities.ts'
import { field, notTcp } from './field.ts'
import { Note0001 } from './migrations/0001-note.ts'
import { Idle, key } from './wire.ts'

const list = defineList({
  url: '/v1/notes',
  action: 'note.list',
  access: 'superadmin',
  summary: 'Rules with a separate idle time.',
  schema: () => ({ row: Type.Object({ rule_id: Type.String(), [key]: Type.Integer() }) }),
  run: async ({ store }: Kernel) => {
    const rows = await store.read(em => em.find(NoteIdle, {}, { orderBy: { rule: 'asc' } }))
    return rows.map(({ rule, secs }) => ({ rule_id: rule, [key]: secs }))
  }
})

export default definePlugin({
  name: 'note',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { rules: '^1.0.0' },
  codes: [notTcp],
  store: { entities: [NoteIdle], migrations: [{ name: '0001-note', class: Note0001 }] },
  fills: [field],
  messages: [Idle],
  routes: [list]
})
