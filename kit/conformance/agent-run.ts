// Runs the agent half of a plugin in a whole agent, on an engine that forwards nothing.
import type { AgentPlugin } from '../../agent/plugin.ts'
import { systemClock } from '../../kernel/base/clock.ts'
import { Releases } from '../../kernel/base/releases.ts'
import { connectAcceptingAgent } from '../accepting-agent.ts'
import type { LogLine } from '../record-log.ts'
import { openRunningAgent } from '../running-agent.ts'
import { sampleOf } from './samples.ts'
import type { Surroundings, Trial } from './trial.ts'

/** The client of the agent that rules of a check are on. */
export const checkClient = 'check'

/**
 * Calls `work` while an agent with the half is connected, or one that accepts everything if there is no half or its
 * configuration lacks examples. Adds what has failed in the half.
 */
export async function withAgent(
  half: AgentPlugin | null,
  { server }: Surroundings,
  section: object | undefined,
  work: () => Promise<Trial>
): Promise<Trial> {
  const releases = new Releases()
  const release = { teardown: releases.defer }
  const settings = section === undefined ? sampleOf(half?.config, 'config') : { value: section }
  try {
    if (half === null || 'lacking' in settings) {
      await connectAcceptingAgent(release, { server, clock: systemClock }, checkClient)
      const { problems, notes } = await work()
      return half === null
        ? { problems, notes }
        : { problems, notes: [...notes, 'the agent half was not run: its config has no examples'] }
    }
    const clock = { ...systemClock, advance: async () => {} }
    const agent = await openRunningAgent(release, { server, clock }, checkClient, {
      plugins: [half],
      sections: { [half.name]: settings.value }
    })
    const { problems, notes } = await work()
    return { problems: [...problems, ...failuresOf(half, agent.log)], notes }
  } finally {
    await releases.run()
  }
}

const failuresOf = ({ name }: AgentPlugin, log: readonly LogLine[]): string[] =>
  log
    .filter(({ event, fields }) => event === 'plugin.failed' && fields['plugin'] === name)
    .map(({ message, fields }) => `agent half: ${String(fields['hook'])} fails: ${message}`)
