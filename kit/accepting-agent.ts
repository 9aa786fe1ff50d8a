// A scripted agent that has all built-in capabilities and accepts every object.
import { type AgentObjectKind, capabilitiesOf, messagesOf, type ObjectChange } from '../agent/plugin.ts'
import { agentPlugins } from '../config/agent-plugins.ts'
import {
  connectAgent,
  type Script,
  type ScriptedAgent,
  scriptedResponse,
  type Teardown
} from './scripted-agent.ts'
import { insertClient, type RunningServer } from './test-identities.ts'

/** Creates a client and connects its agent. */
export async function connectAcceptingAgent(
  t: Teardown,
  app: RunningServer,
  name: string,
  script: Partial<Script> = {}
): Promise<{ readonly clientId: string; readonly agent: ScriptedAgent }> {
  const { server, clock } = app
  const { control } = server.depsOf('clients')
  const clientId = await insertClient(app, name)
  const agent = await connectAgent(t, {
    port: control.port(),
    fingerprint: control.fingerprint,
    token: clientId,
    clock, // its heartbeats follow the server's time
    ...(await acceptingScript(script))
  })
  return { clientId, agent }
}

/** Returns a script that has all built-in capabilities and accepts every object. */
export async function acceptingScript<S extends Partial<Script>>(script: S) {
  const { messages, capabilities, responses } = await builtinAgent
  return {
    ...script,
    messages: [...messages, ...(script.messages ?? [])],
    capabilities: script.capabilities === null ? null : { ...capabilities, ...script.capabilities },
    responses: [...responses, ...(script.responses ?? [])]
  }
}

const builtinAgent = Promise.all(Object.values(agentPlugins).map(async load => (await load()).default)).then(
  halves => ({
    messages: halves.flatMap(messagesOf),
    capabilities: Object.assign({}, ...halves.map(capabilitiesOf)),
    responses: halves.flatMap(({ kinds }) => (kinds ?? []).flatMap(responsesOf))
  })
)

/** Answers every push and removal of the kind as applied. */
const responsesOf = ({ push, readPush, remove, readRemove, answer }: AgentObjectKind) => {
  const applied = ({ id, revision }: ObjectChange) => answer(id, revision)
  return [
    scriptedResponse(push, body => applied(readPush(body))),
    ...(remove && readRemove ? [scriptedResponse(remove, body => applied(readRemove(body)))] : [])
  ]
}
