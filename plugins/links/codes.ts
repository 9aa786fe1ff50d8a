import { defineCode } from '../../kernel/base/errors.ts'

export const linkNotFound = defineCode('link_not_found', 404, 8)
export const linkNoEndpoint = defineCode('link_no_endpoint', 422, 3)
export const invalidLink = defineCode('validation.link', 400, 3)
