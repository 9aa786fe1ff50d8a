import t from 'tap'
import type { EndedConnection } from '../../../agent/engine/ended-connection.ts'
import { formatLine } from '../line.ts'

const ended: EndedConnection = {
  ruleId: 1,
  source: { address: '192.0.2.7', port: 5000 },
  listen: { address: '198.51.100.1', port: 22 },
  target: { address: '127.0.0.1', port: 2323, index: 0 },
  divert: 'tarpit',
  serverName: null,
  openedAt: 0,
  durationMs: 10,
  bytesIn: 1,
  bytesOut: 2,
  end: 'caller_closed',
  refusal: null
}

t.test('a line names the divert that chose the target', async t => {
  t.match(JSON.parse(formatLine(ended, undefined, 'paris')), { target: '127.0.0.1:2323', divert: 'tarpit' })
  t.notMatch(formatLine({ ...ended, divert: null }, undefined, 'paris'), /divert/)
})
