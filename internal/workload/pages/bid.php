<?php
// A bid of one more than the highest, in one transaction.
require 'page.php';
$shop = shop();
$shop->begin_transaction();
$item = rows($shop, 'select id, name, price, bids from items where id = ? for update', [asked($_POST, 'item')])[0];
$user = rows($shop, 'select id, name from users where id = ?', [asked($_POST, 'user')])[0];
$item['price']++;
$item['bids']++;
$shop->execute_query('insert into bids (item, user, amount) values (?, ?, ?)', [$item['id'], $user['id'], $item['price']]);
$shop->execute_query('update items set price = ?, bids = ? where id = ?', [$item['price'], $item['bids'], $item['id']]);
$shop->commit();
page($user['name'] . ' bids for ' . $item['name'], table([$item]));
