// Findings about the channels of notifications.
import t from 'tap'
import { runCheck } from './provoke-findings.ts'

t.test('a channel that sends without TLS over a network is found', async t => {
  const findings = (rows: object[]) => runCheck('channels', {}, { query: async <R>() => rows as R[] })
  t.match(await findings([]), [{ ok: '0 channels' }])
  t.match(await findings([{ name: 'ops', host: null }]), [{ ok: '1 channel' }])
  t.match(await findings([{ name: 'ops', host: 'chat.test:8065' }]), [
    { id: 'channels.plain', message: 'ops sends to chat.test:8065 without TLS' }
  ])
})
