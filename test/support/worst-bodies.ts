// The most expensive bodies that a JSON schema invites: long lists, long texts, many members, deep nesting, wrong types.

export interface JsonSchema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>
  readonly additionalProperties?: JsonSchema | boolean
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
  readonly allOf?: readonly JsonSchema[]
  readonly minimum?: number
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly examples?: readonly unknown[]
}

export interface WorstBody {
  readonly name: string // '/schedule/windows: a long list of numbers'
  readonly text: string // JSON, mostly
}

/** Returns bodies of at most `maxBytes`, each with one bad part. */
export function worstBodies(schema: JsonSchema, maxBytes: number): WorstBody[] {
  const found: WorstBody[] = []
  const add = (at: Place, what: string, text: string): void => {
    const body = at.around(text)
    if (body.length <= maxBytes) found.push({ name: `${at.path || '/'}: ${what}`, text: body })
  }
  for (const at of placesIn(schema, { path: '', around: text => text, depth: 1 })) {
    const room = maxBytes - at.around('').length
    for (const [what, element] of elementsFor(at.schema))
      add(at, `a long list of ${what}`, listOf(element, room))
    add(at, 'a long text', `"${'a'.repeat(Math.max(0, room - 2))}"`)
    add(at, 'a long text of escapes', `"${'\\u00e9'.repeat(Math.max(0, Math.floor((room - 2) / 6)))}"`)
    add(at, 'a long number', '9'.repeat(Math.max(1, room)))
    add(at, '1,000 members', membersOf(1000, 'x', room))
    add(at, '1,000 members with keys that need escapes', membersOf(1000, '~/', room))
    add(at, 'lists of 1,000 members', listOf(membersOf(1000, 'x', Math.floor(room / 3)), room))
    add(at, 'the deepest list', nested(32 - at.depth + 1))
    for (const wrong of ['null', 'true', '-1.5', '1e308', '""', '[]', '{}']) add(at, wrong, wrong)
  }
  return [
    ...found,
    { name: '/: more than 1,000 members', text: membersOf(1001, 'x', maxBytes) },
    { name: '/: brackets', text: '['.repeat(maxBytes) },
    { name: '/: objects in objects', text: '{"a":'.repeat(Math.floor(maxBytes / 5)) },
    { name: '/: empty lists in a list', text: listOf('[]', maxBytes) },
    { name: '/: a text without an end', text: `"${'\\"'.repeat(Math.floor(maxBytes / 2) - 1)}` },
    { name: '/: prototypes', text: listOf('{"__proto__":1}', maxBytes) }
  ]
}

interface Place {
  readonly path: string
  readonly around: (text: string) => string // the body with this text at the place
  readonly depth: number // levels up to the place, with its own
}

type Visited = Place & { readonly schema: JsonSchema }

const deepest = 6 // of a place in a schema

function placesIn(schema: JsonSchema, at: Place): Visited[] {
  if (at.depth > deepest) return []
  const {
    properties = {},
    patternProperties = {},
    additionalProperties,
    items,
    anyOf = [],
    allOf = []
  } = schema
  const below = (key: string, open: string, close: string): Place => ({
    path: `${at.path}/${key}`,
    around: text => at.around(open + text + close),
    depth: at.depth + 1
  })
  const records = [
    ...Object.values(patternProperties),
    ...(typeof additionalProperties === 'object' ? [additionalProperties] : [])
  ]
  return [
    { ...at, schema },
    ...[...anyOf, ...allOf].flatMap(part => placesIn(part, at).filter(place => place.path !== at.path)),
    ...Object.entries(properties).flatMap(([key, part]) =>
      placesIn(part, below(key, `{${othersOf(schema, key)}${JSON.stringify(key)}:`, '}'))
    ),
    ...records.flatMap(part => placesIn(part, below('a', '{"a":', '}'))),
    ...(items ? placesIn(items, below('0', '[', ']')) : [])
  ]
}

/** Returns the other required members, so that the worst part is judged by more than the schema. */
const othersOf = ({ properties = {}, required = [] }: JsonSchema, key: string): string =>
  required
    .filter(name => name !== key)
    .map(name => `${JSON.stringify(name)}:${JSON.stringify(rightValue(properties[name] ?? {}))},`)
    .join('')

/** Elements of long lists: wrong ones, and right ones of the schema, which are judged longest. */
function elementsFor(schema: JsonSchema): [string, string][] {
  const lists = [schema, ...(schema.anyOf ?? [])].flatMap(({ items }) => items ?? [])
  return [
    ['numbers', '1'],
    ['objects', '{}'],
    ['texts', '""'],
    ...lists.map((items): [string, string] => ['right elements', JSON.stringify(rightValue(items))])
  ]
}

/** Returns a value that mostly matches the schema, with all its properties. */
function rightValue(schema: JsonSchema): unknown {
  const { type, properties, items, anyOf, examples, minimum = 0 } = schema
  if ('const' in schema) return schema.const
  if (schema.enum) return schema.enum[0]
  if (anyOf) return rightValue(anyOf[0] ?? {})
  if (properties)
    return Object.fromEntries(Object.entries(properties).map(([key, part]) => [key, rightValue(part)]))
  if (examples) return examples[0]
  if (type === 'array') return items ? [rightValue(items)] : []
  if (type === 'integer' || type === 'number') return minimum
  if (type === 'boolean') return false
  return type === 'object' ? {} : 'a'
}

function listOf(element: string, bytes: number): string {
  const others = Math.max(0, Math.floor((bytes - 1) / (element.length + 1)) - 1)
  return `[${`${element},`.repeat(others)}${element}]`
}

const membersOf = (count: number, prefix: string, bytes: number): string => {
  const members = Array.from({ length: count }, (_, at) => `"${prefix}${at}":1`)
  while (members.length > 1 && members.join().length + 2 > bytes)
    members.length = Math.floor(members.length / 2)
  return `{${members.join()}}`
}

const nested = (depth: number): string => '['.repeat(Math.max(1, depth)) + ']'.repeat(Math.max(1, depth))
