import type { ComponentType } from 'react'
import { Route, Switch } from 'wouter'

interface Props {
  readonly path: string
  readonly list: ComponentType
  readonly detail: ComponentType<{ readonly id: string }>
}

/** The list at PATH and PATH/new, and the record at PATH/ID. */
export const ListAndDetail = ({ path, list: List, detail: Detail }: Props) => (
  <Switch>
    <Route path={`${path}/:id`}>{({ id }) => (id === 'new' ? <List /> : <Detail key={id} id={id} />)}</Route>
    <Route>
      <List />
    </Route>
  </Switch>
)
