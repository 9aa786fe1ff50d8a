// Answers of /livez and /readyz, for server and agent.

export interface Check {
  readonly name: string
  readonly status: 'ok' | 'failed'
  readonly reason: string
}

export interface Answer {
  readonly status: 200 | 503
  readonly type: string
  readonly body: string
}

const answerOf = (status: Answer['status'], body: object): Answer => ({
  status,
  type: 'application/json; charset=utf-8',
  body: `${JSON.stringify(body)}\n`
})

const byName = (checks: readonly Check[]) =>
  Object.fromEntries(checks.map(({ name, status, reason }) => [name, { status, reason }]))

/** The process answers requests. */
export const liveAnswer: Answer = answerOf(200, {
  status: 'live',
  checks: byName([{ name: 'process', status: 'ok', reason: 'it answers' }])
})

/** Returns 503 if a check failed. */
export function toReadinessAnswer(checks: readonly Check[]): Answer {
  const isReady = checks.every(({ status }) => status === 'ok')
  return answerOf(isReady ? 200 : 503, {
    status: isReady ? 'ready' : 'not_ready',
    checks: byName(checks)
  })
}
