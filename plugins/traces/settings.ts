import { type Static, Type } from 'typebox'
import { Fault, startupInvalid } from '../../kernel/base/errors.ts'

export const keys = Type.Object({
  otlp_endpoint: Type.Optional(
    Type.String({
      maxLength: 2048,
      description:
        'Base URL of an OTLP/HTTP collector, which gets the traces of requests. Without it, nothing is traced.',
      examples: ['http://127.0.0.1:4318'],
      hot: true
    })
  ),
  otlp_ratio: Type.Number({
    minimum: 0,
    maximum: 1,
    default: 0.1,
    description: 'Share of traces that are sampled. A caller with a `traceparent` decides for its own.',
    hot: true
  })
})
export type Settings = Pick<Static<typeof keys>, 'otlp_endpoint' | 'otlp_ratio'>

/** Returns the URL for traces; null without an endpoint. Throws Fault. */
export function tracesUrl({ otlp_endpoint: text }: Settings): URL | null {
  if (text === undefined) return null
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol))
    return refuse('must be a URL that begins with http:// or https://, such as http://127.0.0.1:4318')
  if (url.username !== '' || url.password !== '')
    refuse('must not contain a user or a password; let a collector on this host add them')
  if (url.search !== '' || url.hash !== '') refuse('must end with the path; remove what follows ? or #')
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/v1/traces`
  return url
}

function refuse(problem: string): never {
  throw new Fault(startupInvalid, `otlp_endpoint ${problem}`)
}
