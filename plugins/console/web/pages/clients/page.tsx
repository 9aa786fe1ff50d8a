import { Route, Switch } from 'wouter'
import { ClientDetail } from './ClientDetail.tsx'
import { ClientList } from './ClientList.tsx'

export default function Clients() {
  return (
    <Switch>
      <Route path="/clients/:id">
        {({ id }) => (id === 'new' ? <ClientList /> : <ClientDetail key={id} id={id} />)}
      </Route>
      <Route>
        <ClientList />
      </Route>
    </Switch>
  )
}
