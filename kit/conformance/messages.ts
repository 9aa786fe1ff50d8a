// Checks that the halves of a plugin list the same messages, and that one of them answers each request.
import { objectHandlers } from '../../agent/objects/object-handlers.ts'
import { type AgentPlugin, messagesOf } from '../../agent/plugin.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import type { Message } from '../../kernel/wire/message.ts'

interface Named {
  readonly name: string
}

const namesOf = (named: readonly Named[]): ReadonlySet<string> => new Set(named.map(({ name }) => name))

/** Returns messages that one half handles and a half does not list, and requests without a handler. */
export function halfProblems({ messages = [], handlers = [] }: Plugin, agent: AgentPlugin): string[] {
  const lists = { 'server half': namesOf(messages), 'agent half': namesOf(messagesOf(agent)) }
  const handled = [...handlers, ...(agent.handlers ?? [])]
  const unlisted = handled.flatMap(({ name }) =>
    Object.entries(lists)
      .filter(([, listed]) => !listed.has(name))
      .map(([half]) => `message ${name} has a handler, but the ${half} does not list it in \`messages\``)
  )
  const answered = namesOf([...handled, ...(agent.kinds ?? []).flatMap(objectHandlers)])
  const unanswered = [...namesOf([...messages, ...messagesOf(agent)].filter(isRequest))]
    .filter(name => !answered.has(name))
    .map(name => `request ${name} has no handler; add one to \`handlers\` of the half that receives it`)
  return [...unlisted, ...unanswered]
}

const isRequest = (message: Message): boolean => 'response' in message
