import t from 'tap'
import { defineCode, Fault } from '../../../kernel/base/errors.ts'
import { definePlugin, type Kernel } from '../../../kernel/plugin.ts'
import { slotReader } from '../../../kernel/slot.ts'
import { type LogLine, recordLog } from '../../../kit/record-log.ts'
import { openNameRecords, type RecordNames, recordNamesSlot } from '../change/record-names.ts'

const conflict = defineCode('thing_conflict', 409, 5)

/** Names the records of a fault, with names from these plugins. */
async function nameRecords(...kinds: readonly RecordNames[]) {
  const lines: LogLine[] = []
  const log = recordLog(lines)
  const plugins = kinds.map((names, at) =>
    definePlugin({
      name: `names-${at}`,
      version: '1.0.0',
      kernel: '>=2',
      needs: {},
      fills: [recordNamesSlot.fill(names)]
    })
  )
  const store = {
    read: (work: (em: never) => unknown) => work(undefined as never)
  } as unknown as Kernel['store']
  const name = openNameRecords({ store, log, filled: slotReader('http', plugins, () => ({})) })
  const fault = new Fault(conflict, 'no', { details: { rule_id: 'r1', client_id: 'c1' } })
  return { details: (await name(fault)).details, lines }
}

const clients: RecordNames = {
  idKey: 'client_id',
  nameKey: 'client_name',
  load: async () => new Map([['c1', 'paris']])
}

t.test('names that cannot be loaded are missing, logged, and cost no other name', async t => {
  const failing: RecordNames = {
    idKey: 'rule_id',
    nameKey: 'rule_name',
    load: () => Promise.reject(new Error('no such column'))
  }

  const { details, lines } = await nameRecords(failing, clients)

  t.same(details, { rule_id: 'r1', client_id: 'c1', client_name: 'paris' })
  t.match(lines, [
    { event: 'request.names_missing', fields: { filled_by: 'names-0', error: /no such column/ } }
  ])
})
