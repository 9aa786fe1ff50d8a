// The pages /livez and /readyz of a server and of an agent.
import { type Answer, liveAnswer } from '../http/listener-exports.ts'
import type { Page } from './page.ts'

const toPage = (path: Page['path'], answer: () => Promise<Answer>): Page => ({
  path,
  async read() {
    const { status, type, body } = await answer()
    return { status, type, body: [Buffer.from(body)] }
  }
})

export const livePage = toPage('/livez', async () => liveAnswer)
export const readyPage = (readiness: () => Promise<Answer>): Page => toPage('/readyz', readiness)
