// A server with stats, and scripted agents that send reports.
import type { Test } from 'tap'
import { noCounts, toColumns } from '../../../agent/wire/counters.ts'
import {
  CommittedEpochs,
  messages,
  type ReportRow,
  StatsReport,
  welcomePart
} from '../../../agent/wire/journal-report.ts'
import { definePlugin } from '../../../kernel/plugin.ts'
import { openCodec } from '../../../kernel/wire/codec.ts'
import { type FakeClock, fakeClock } from '../../../kit/fake-clock.ts'
import type { Script, ScriptedAgent } from '../../../kit/scripted-agent.ts'
import type { TestServerOptions } from '../../../kit/test-server.ts'
import { type RulesFixture, rulesFixture, until } from '../../rules/test/fixture.ts'
import { messages as rulesMessages } from '../../rules/wire.ts'
import { committedSlot } from '../exports.ts'
import type { RuleStats } from '../schema.ts'

export const noon = Date.UTC(2026, 0, 15, 12)
export const minute = String(noon / 1000)
export const epoch = 'a'.repeat(32)
export const otherEpoch = 'b'.repeat(32)

export const row = (rule_id: string, kind: string, key: string, counts: Partial<ReportRow>): ReportRow => ({
  rule_id,
  kind,
  key,
  ...toColumns(noCounts),
  ...counts
})

export interface StatsFixture extends RulesFixture {
  /** Sends a report and advances the clock past the batch interval. */
  report(agent: ScriptedAgent, report: Partial<StatsReport>): Promise<{ epoch: string; seq: number }>
  stats(ruleId: string): Promise<RuleStats>
  connected(clientId: string, script?: Partial<Script>): Promise<ScriptedAgent>
  /** Closes the stream of the agent and waits until the server has logged the disconnect. */
  disconnect(agent: ScriptedAgent): Promise<void>
  /** Connects a client with one rule. */
  edge(name?: string): Promise<{ clientId: string; agent: ScriptedAgent; ruleId: string }>
}

/** A fake clock with a promise that resolves when the server begins a batch of reports. */
function reportClock(): { readonly clock: FakeClock; batchScheduled(): Promise<void> } {
  const inner = fakeClock(noon)
  let batchScheduled = Promise.withResolvers<void>()
  return {
    clock: {
      ...inner,
      after(ms, work) {
        if (ms === 250) batchScheduled.resolve()
        return inner.after(ms, work)
      }
    },
    async batchScheduled() {
      await batchScheduled.promise
      batchScheduled = Promise.withResolvers<void>()
    }
  }
}

export async function statsFixture(t: Test, options: TestServerOptions = {}): Promise<StatsFixture> {
  const { clock, batchScheduled } = reportClock()
  const plugins = ['users', 'clients', 'rules', 'stats']
  const fixture = await rulesFixture(t, { plugins, clock, ...options })
  const connected: StatsFixture['connected'] = (clientId, script = {}) =>
    fixture.connect(clientId, { messages: [...rulesMessages, ...messages], ...script })
  let port = 8080

  return {
    ...fixture,
    connected,
    async report(agent, report) {
      const body = { epoch, seq: 1, part: 0, last: true, rows: [], live: [], ...report }
      const gathered = batchScheduled().then(() => clock.advance(250))
      const [answer] = await Promise.all([agent.channel.request(StatsReport, body), gathered])
      return answer
    },
    stats: async id => (await fixture.call<RuleStats>('GET', `/v1/rules/${id}/stats`)).body,
    async disconnect(agent) {
      await agent.close()
      const isLogged = async () => fixture.log.some(({ event }) => event === 'client.disconnected')
      await until(isLogged, logged => logged)
    },
    async edge(name = 'edge') {
      const clientId = await fixture.enroll(name)
      const agent = await connected(clientId)
      const { body } = await fixture.push({ client: clientId, listen_port: port++ })
      return { clientId, agent, ruleId: body.rule_id }
    }
  }
}

const codec = openCodec(messages)

/** The committed seqs that the agent received in Welcome. */
export const committedIn = ({ welcome }: ScriptedAgent): Readonly<Record<string, number>> =>
  codec.decode(CommittedEpochs, welcome.parts[welcomePart] ?? new Uint8Array()).committed

/** Returns the plugins of a server that passes committed bytes to the listeners. */
export const withCommitted = (...listeners: readonly Parameters<typeof committedSlot.fill>[0][]) => [
  'users',
  'clients',
  'rules',
  'stats',
  definePlugin({
    name: 'listener',
    version: '1.0.0',
    kernel: '^2.0.0',
    needs: { stats: '^1.0.0' },
    fills: listeners.map(listener => committedSlot.fill(listener))
  })
]
