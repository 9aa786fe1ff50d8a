// Finds state that code retains in memory between calls: variables and collections of a module or of a function with
// closures that outlive it, and fields of objects.
import { stripTypeScriptTypes } from 'node:module'
import { parse } from 'acorn'

interface Node {
  readonly type: string
  readonly [key: string]: unknown
}

type Kind = 'let' | 'collection' | 'array' | 'other'

interface Binding {
  readonly name: string
  readonly owner: Node // the function or module that declares it
  readonly kind: Kind
}

interface Scope {
  readonly owner: Node
  readonly names: Map<string, Binding>
  readonly outer?: Scope
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof Reflect.get(value, 'type') === 'string'
const partsOf = (node: Node, key: string): Node[] => [node[key]].flat().filter(isNode)
const partOf = (node: Node | undefined, key: string): Node | undefined => node && partsOf(node, key)[0]
const childrenOf = (node: Node): Node[] => Object.values(node).flat().filter(isNode)
const nameOf = (node: Node | undefined): string => String(node?.['name'] ?? '')
const isFunction = ({ type }: Node): boolean => type.includes('Function')

/** Returns the names of state that outlives the creating call; fields as `this.name`. */
export function findRetainedState(typescript: string): string[] {
  const script = stripTypeScriptTypes(typescript)
  const program: unknown = parse(script, { ecmaVersion: 'latest', sourceType: 'module' })
  if (!isNode(program)) throw new TypeError('the parser returns a node')
  const scopes = new Map<Node, Scope>()
  declare(program, { owner: program, names: new Map() }, scopes)
  const kept = retainedBy(program, [], scopes)
  return [...new Set(kept)].map(one => (typeof one === 'string' ? `this.${one}` : one.name))
}

/** Fills `scopes` with the scope of each node that has one. */
function declare(node: Node, outer: Scope, scopes: Map<Node, Scope>): void {
  const hasOwn = isFunction(node) || /^(Program|BlockStatement|For\w*|CatchClause)$/.test(node.type)
  const owner = isFunction(node) ? node : outer.owner
  const scope: Scope = hasOwn ? { owner, names: new Map(), outer } : outer
  if (hasOwn) scopes.set(node, scope)
  const add = (target: Node | undefined, kind: Kind): void => {
    for (const name of namesIn(target)) scope.names.set(name, { name, owner, kind })
  }
  if (isFunction(node)) for (const param of partsOf(node, 'params')) add(param, 'other')
  if (node.type === 'CatchClause') add(partOf(node, 'param'), 'other')
  if (node.type === 'VariableDeclaration')
    for (const one of partsOf(node, 'declarations'))
      add(partOf(one, 'id'), node['kind'] === 'let' ? 'let' : kindOf(partOf(one, 'init')))
  for (const child of childrenOf(node)) declare(child, scope, scopes)
}

/** Returns the names in a variable, or in a pattern such as `{ a, b: [c], ...d }`. */
function namesIn(target: Node | undefined): string[] {
  if (!target || target.type === 'MemberExpression') return []
  if (target.type === 'Identifier') return [nameOf(target)]
  if (target.type === 'AssignmentPattern') return namesIn(partOf(target, 'left'))
  if (target.type === 'Property') return namesIn(partOf(target, 'value'))
  return childrenOf(target).flatMap(namesIn)
}

function kindOf(init: Node | undefined): Kind {
  if (isCollection(init)) return 'collection'
  return init?.type === 'ArrayExpression' && childrenOf(init).length === 0 ? 'array' : 'other'
}

/** True for an empty collection, also within an object. A collection built from data is mostly read-only. */
function isCollection(init: Node | undefined): boolean {
  if (init?.type === 'ObjectExpression')
    return partsOf(init, 'properties').some(property => isCollection(partOf(property, 'value')))
  const isEmpty = init?.type === 'NewExpression' && partsOf(init, 'arguments').length === 0
  return isEmpty && /^(Weak|Committed)?(Map|Set)$/.test(nameOf(partOf(init, 'callee')))
}

/** `path` has the enclosing nodes. A field is named `this.name`. */
function retainedBy(
  node: Node,
  path: readonly Node[],
  scopes: ReadonlyMap<Node, Scope>
): (Binding | string)[] {
  const within = [...path, node]
  const scope = scopes.get(within.findLast(one => scopes.has(one)) ?? node)
  const used = usedBy(node).flatMap(({ target, kind }) =>
    namesIn(target)
      .map(name => lookUp(name, scope))
      .filter(known => known !== undefined)
      .filter(known => known.kind === kind && outlives(within, known.owner))
  )
  return [
    ...fieldsOf(node, path),
    ...used,
    ...childrenOf(node).flatMap(child => retainedBy(child, within, scopes))
  ]
}

/** A collection is state if anything uses it, a variable if it is reassigned, an array if it is changed. */
function usedBy(node: Node): { readonly target: Node | undefined; readonly kind: Kind }[] {
  if (node.type === 'Identifier') return [{ target: node, kind: 'collection' }]
  if (node.type === 'AssignmentExpression') return [{ target: partOf(node, 'left'), kind: 'let' }]
  if (node.type === 'UpdateExpression') return [{ target: partOf(node, 'argument'), kind: 'let' }]
  const callee = node.type === 'CallExpression' ? partOf(node, 'callee') : undefined
  const isChange = /^(push|pop|shift|unshift|splice)$/.test(nameOf(partOf(callee, 'property')))
  return isChange ? [{ target: partOf(callee, 'object'), kind: 'array' }] : []
}

const lookUp = (name: string, scope: Scope | undefined): Binding | undefined =>
  scope && (scope.names.get(name) ?? lookUp(name, scope.outer))

/** Returns fields that are collections, and fields that a method reassigns. */
function fieldsOf(node: Node, path: readonly Node[]): string[] {
  if (node.type === 'PropertyDefinition')
    return kindOf(partOf(node, 'value')) === 'other' ? [] : [nameOf(partOf(node, 'key'))]
  const target = partOf(node, 'left') ?? partOf(node, 'argument')
  const isChange = /^(Assignment|Update)Expression$/.test(node.type)
  const isOwn = target?.type === 'MemberExpression' && partOf(target, 'object')?.type === 'ThisExpression'
  const isMade = path.some(({ kind }) => kind === 'constructor')
  return isChange && isOwn && !isMade ? [nameOf(partOf(target, 'property'))] : []
}

/** True if a function around the node may run after the owner has returned. */
const outlives = (path: readonly Node[], owner: Node): boolean =>
  path.some(
    (one, at) => at > path.indexOf(owner) && isFunction(one) && !isDoneAtOnce(one, path[at - 1], path[at - 2])
  )

const doneAtOnce =
  /^(map|flatMap|filter|forEach|some|every|find|findIndex|reduce|sort|toSorted|groupBy|read|change|run)$/

/** True for callbacks of an array, a transaction, or an awaited call. */
function isDoneAtOnce(callback: Node, call: Node | undefined, around: Node | undefined): boolean {
  if (call?.type !== 'CallExpression') return false
  const isFirst = partsOf(call, 'arguments')[0] === callback
  const method = nameOf(partOf(partOf(call, 'callee'), 'property'))
  return around?.type === 'AwaitExpression' || (isFirst && doneAtOnce.test(method))
}
