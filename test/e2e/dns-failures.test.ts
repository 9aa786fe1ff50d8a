// A name that does not resolve costs the connection that asked, and never the rule.
import { connect } from 'node:net'
import t from 'tap'
import { freePort } from '../kit/ports.ts'
import { edge, site, token } from '../kit/site.ts'

const callers = 1_000
const atOnce = 100

t.test('after a thousand failed look-ups the rule is still active, and all of them are counted', async t => {
  const on = await site(t)
  await edge(t, on, 'paris')
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const port = await freePort()
  const targets = [{ host: 'nowhere.invalid', port: 80 }] // RFC 6761: it never resolves
  const body = JSON.stringify({ client: 'paris', listen_port: port, targets })
  const made = await fetch(`${on.origin}/v1/rules`, { method: 'POST', headers, body })
  const { rule_id } = (await made.json()) as { rule_id: string }

  const refused = (): Promise<unknown> =>
    new Promise(resolve =>
      connect(port, '127.0.0.1')
        .once('error', () => {})
        .once('close', resolve)
    )
  for (let done = 0; done < callers; done += atOnce)
    await Promise.all(Array.from({ length: atOnce }, () => refused()))

  const rule = await (await fetch(`${on.origin}/v1/rules/${rule_id}`, { headers })).json()
  t.match(rule, { state: 'active', state_reason: null })
  const stream = await fetch(`${on.origin}/v1/rules/${rule_id}/stats/stream`, { headers })
  let counted = 0
  let text = ''
  for await (const chunk of stream.body ?? []) {
    text += Buffer.from(chunk).toString()
    counted = Number(/.*"dns_failures":(\d+)/s.exec(text)?.[1])
    if (counted >= callers) break
  }
  t.equal(counted, callers)
  const metrics = await (await fetch(`${on.origin}/v1/metrics`, { headers })).text()
  t.match(metrics, new RegExp(`^svc_rule_dns_failures_total\\{.*rule="${rule_id}".*\\} ${callers}$`, 'm'))
})
