import { Route, Switch } from 'wouter'
import { Detail } from './ClientDetail.tsx'
import { List } from './ClientList.tsx'

export default function Edges() {
  return (
    <Switch>
      <Route path="/edges/:id">{({ id }) => (id === 'new' ? <List /> : <Detail key={id} id={id} />)}</Route>
      <Route>
        <List />
      </Route>
    </Switch>
  )
}
