// The agent half: closes the rule outside its hours, with or without the server.
import {
  type AgentCall,
  type AgentPlugin,
  defineField,
  type FieldRule,
  type Static,
  Type
} from 'sluice/agent-plugin'
import { field, type Schedule } from './field.ts'

const modes = ['refuse', 'hold', 'cut'] as const
const Config = Type.Object({
  live: Type.Enum([...modes], {
    default: 'cut',
    description: 'Handling of live connections at the end of the hours.'
  })
})

/** True if the instant is in one of the windows, in the local time of the time zone. */
export function isOpenAt({ time_zone: timeZone, windows }: Schedule, ms: number): boolean {
  const format = { timeZone, weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
  const [day = '', time = ''] = new Intl.DateTimeFormat('en-US', format).format(ms).toLowerCase().split(' ')
  return windows.some(({ days, from, to }) => days.some(name => name === day) && from <= time && time < to)
}

/** Decides again at the start of each minute. Hours start and end on a minute in every time zone. */
function decide(rule: FieldRule<typeof field.body>, call: AgentCall<Static<typeof Config>>): void {
  const now = call.time.now()
  if (isOpenAt(rule.value, now)) rule.open()
  else rule.close({ mode: call.config.live, reason: 'outside_schedule' })
  rule.at(now - (now % 60_000) + 60_000, () => decide(rule, call))
}

const weeklyHours = defineField({ ...field, opened: decide, changed: decide })

export default {
  name: 'weekly-hours',
  agent: '^1.5.0',
  config: Config,
  fields: [weeklyHours],
  metrics({ rules, time }) {
    const closed = rules.having(weeklyHours).filter(({ value }) => !isOpenAt(value, time.now())).length
    const samples = [{ labelValues: [], value: closed }]
    return [{ name: 'closed_rules', type: 'gauge', help: 'Rules outside their hours.', labels: [], samples }]
  }
} satisfies AgentPlugin
