import t from 'tap'
import { testServer } from '../../../kit/test-server.ts'

t.test(
  'administrators see the certificate that agents pin, until when it is valid, and whether one is staged',
  async t => {
    const { call, server } = await testServer(t)

    const { status, body } = await call('GET', '/v1/settings/certificate')

    t.equal(status, 200)
    t.match(body, {
      fingerprint: server.control.fingerprint,
      source: 'self-made',
      names: Array,
      not_after: /^\d{4}-/,
      next: null,
      waiting: 0,
      waiting_for: []
    })
  }
)
