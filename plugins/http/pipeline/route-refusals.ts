import type { FastifyRequest } from 'fastify'
import { Fault, notFound } from '../../../kernel/base/errors.ts'
import type { Route } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { methodNotAllowed, unsupportedMediaType } from '../codes.ts'
import { isForm, isJson, isRead, pathOf, type RequestContext } from '../request/request-context.ts'

/** Returns `not_found`, or `method_not_allowed` if the path has routes of other methods. */
export function noSuchRoute({ method, url }: FastifyRequest, routes: readonly Route<Kernel>[]): Fault {
  const path = pathOf(url)
  const methods = new Set(routes.filter(route => patternOf(route).test(path)).map(route => route.method))
  if (methods.size === 0) return new Fault(notFound, `there is no ${method} ${path}`)
  const allow = [...methods, ...(methods.has('GET') ? ['HEAD'] : [])]
  return new Fault(methodNotAllowed, `${path} takes ${allow.join(', ')}`, { details: { allow } })
}

const patternOf = ({ url }: Route<Kernel>): RegExp =>
  new RegExp(`^${url.replaceAll('.', '[.]').replaceAll(/:\w+/g, '[^/]*')}$`)

export function refuseMediaType(context: RequestContext): void {
  const { hasBody } = context.requestInfo
  if (hasBody && !isRead(context) && !isJson(context.requestInfo) && !isForm(context))
    throw new Fault(unsupportedMediaType, 'send the body as application/json')
}
